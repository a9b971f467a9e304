# SPDX-License-Identifier: Apache-2.0
"""Reads samples of accesses from other tools, and turns them into a trace."""
