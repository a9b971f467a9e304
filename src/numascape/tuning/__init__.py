# SPDX-License-Identifier: Apache-2.0
"""The closed loop on a running process: observe, plan, move, observe again, compare."""
