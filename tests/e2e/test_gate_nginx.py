# SPDX-License-Identifier: MIT
"""A route with an OAuth module behind nginx: who passes, and what the application sees."""
from adit import gate_attacks, gate_cases, gate_faults


class Nginx(gate_cases.Passing, gate_attacks.Attacks, gate_faults.Lasting, gate_faults.Away,
            gate_cases.GateCase):
    front = "nginx"
