# SPDX-License-Identifier: Apache-2.0
"""What `import numascape` offers: recording a program, and everything about its trace."""
