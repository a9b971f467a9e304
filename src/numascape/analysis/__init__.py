# SPDX-License-Identifier: Apache-2.0
"""What can be computed from a trace alone: facts, sharing, traffic, owners; table to table."""
