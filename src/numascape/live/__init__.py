# SPDX-License-Identifier: Apache-2.0
"""The memory and threads of running processes: where they are, and moving them."""
