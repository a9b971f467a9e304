#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A prolog of Slurm: frees the page cache of this node if the memory of the job would not be local.
# The node is drained only if that does not help. If Numascape itself is missing or fails, the job
# starts as usual: a failed check is no reason to lose a node.
#
# slurmd runs it as root. Settings are in numascape.conf beside this file; README.md describes them.
here=${0%/*}
. "$here/numascape-job.sh"

job_memory || exit 0
check "$bytes_per_node" "$job_nodes"
case $? in
    0) exit 0 ;;
    1) ;;
    *) exit 0 ;;  # logged by `check`
esac
log "job $SLURM_JOB_ID: not all of $bytes_per_node bytes on NUMA nodes ${job_nodes:-with CPUs} would be local;" \
    "dropping caches"
"$NUMASCAPE" host drop >/dev/null 2>&1 || log "cannot drop caches: status $?"
check "$bytes_per_node" "$job_nodes"
[ $? -eq 1 ] || exit 0
log "job $SLURM_JOB_ID: still not local: $(echo "$answer" | head -n 1)"
[ "$ON_REMOTE" = drain ] && exit 1
exit 0
