# SPDX-License-Identifier: Apache-2.0
"""The recorders of programs; each writes shards, which are converted to a trace."""
