# SPDX-License-Identifier: Apache-2.0
"""Memory of this host's nodes: what fills it, whether an allocation stays local, how to free it."""
