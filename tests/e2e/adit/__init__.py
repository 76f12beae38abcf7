# SPDX-License-Identifier: MIT
"""What the end-to-end tests share: stacks, clients, samples and the table of what was covered."""
