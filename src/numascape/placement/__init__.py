# SPDX-License-Identifier: Apache-2.0
"""Computes plans, and runs unmodified programs under them."""
