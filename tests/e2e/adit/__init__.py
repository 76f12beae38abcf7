# SPDX-License-Identifier: MIT
"""Code that the end-to-end tests share: stacks, clients, samples, and the record of coverage."""
