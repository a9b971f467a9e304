# SPDX-License-Identifier: Apache-2.0
"""Converts the shards of a recording to a trace."""
