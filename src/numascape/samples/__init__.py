# SPDX-License-Identifier: Apache-2.0
"""Samples of accesses that other tools took: read, and turned into a trace."""
