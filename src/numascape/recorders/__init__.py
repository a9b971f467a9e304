# SPDX-License-Identifier: Apache-2.0
"""The ways of observing a program; each leaves shards that become a trace."""
