# SPDX-License-Identifier: Apache-2.0
"""Computes facts, sharing, traffic and owners from the tables of a trace."""
