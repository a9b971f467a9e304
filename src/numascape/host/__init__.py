# SPDX-License-Identifier: Apache-2.0
"""The memory of this host's nodes: what fills it, whether allocations stay local, freeing it."""
