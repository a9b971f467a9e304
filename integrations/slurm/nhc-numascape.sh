#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A check of Node Health Check (NHC): fails only if memory would not be local. In nhc.conf:
#
#     * || check_cmd_output -t 20 -r 0 /etc/slurm/numascape/nhc-numascape.sh 48G
here=${0%/*}
. "$here/numascape-job.sh"

[ -n "$1" ] || { echo "numascape: give the bytes per NUMA node, for example 48G"; exit 0; }
check "$1"
[ $? -eq 1 ] || exit 0
echo "numascape: $(echo "$answer" | head -n 1)"
exit 1
