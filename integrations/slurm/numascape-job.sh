# SPDX-License-Identifier: Apache-2.0
#
# The scripts beside this file read it. `numascape host check` ends with 0 if all memory would be
# local, with 1 if not, and with 2 if it is not known. The shell returns 126 or 127 if it cannot
# start the command.
NUMASCAPE=numascape
ON_REMOTE=drain
TIMEOUT=30
LOGGER=logger
[ -r "$here/numascape.conf" ] && . "$here/numascape.conf"

log() {
    case $LOGGER in
        logger) logger -t numascape -- "$*" 2>/dev/null ;;
        *) echo "$(date '+%F %T') numascape: $*" >>"$LOGGER" ;;
    esac
}

# The job's memory on each of this host's NUMA nodes, in bytes: $bytes_per_node. Fails if the amount
# is unknown.
job_memory() {
    nodes=0
    for folder in "${NUMASCAPE_SYS:-/sys}"/devices/system/node/node[0-9]*; do
        [ -d "$folder" ] && grep -q '[0-9]' "$folder/cpulist" && nodes=$((nodes + 1))
    done
    [ "$nodes" -gt 0 ] || nodes=1
    # In MiB. slurmd sets neither of these variables in a prolog: then the controller is asked,
    # once. A job that asks for all memory of its node (0) has no amount that could be checked.
    mebibytes=${SLURM_MEM_PER_NODE:-}
    if [ -z "$mebibytes" ]; then
        job=$(scontrol -o show job "$SLURM_JOB_ID" 2>/dev/null)
        per_node=$(echo "$job" | sed -n 's/.* MinMemoryNode=\([0-9.]*[KMGT]\{0,1\}\) .*/\1/p')
        per_cpu=$(echo "$job" | sed -n 's/.* MinMemoryCPU=\([0-9.]*[KMGT]\{0,1\}\) .*/\1/p')
        cpus=$(scontrol -o -d show job "$SLURM_JOB_ID" 2>/dev/null |
            sed -n 's/.* NumCPUs=\([0-9]*\) .*/\1/p')
        hosts=$(echo "$job" | sed -n 's/.* NumNodes=\([0-9]*\)[- ].*/\1/p')
        if [ -n "$per_node" ]; then
            mebibytes=$(in_mebibytes "$per_node" 1 1)
        elif [ -n "$per_cpu" ]; then
            mebibytes=$(in_mebibytes "$per_cpu" "${cpus:-1}" "${hosts:-1}")
        fi
    fi
    case $mebibytes in
        '' | *[!0-9]* | 0) log "job $SLURM_JOB_ID has no memory limit: nothing is checked"; return 1 ;;
    esac
    bytes_per_node=$((mebibytes * 1048576 / nodes))
}

# Slurm's 4G or 500M (the default unit), times $2 over $3, in whole MiB.
in_mebibytes() {
    echo "$1 $2 $3" | awk '{
        factor["K"] = 1 / 1024; factor["M"] = 1; factor["G"] = 1024; factor["T"] = 1048576
        unit = substr($1, length($1)); number = $1 + 0
        if (!(unit in factor)) unit = "M"
        printf "%d\n", number * factor[unit] * $2 / $3
    }'
}

# Returns 0, 1, or 2 for "not known", which is logged; $answer has the output.
check() {
    answer=$(timeout "$TIMEOUT" "$NUMASCAPE" host check --bytes-per-node "$1" 2>&1)
    status=$?
    case $status in
        0 | 1) return $status ;;
        127) log "$NUMASCAPE is not installed on this node: nothing is checked" ;;
        124) log "the check took more than $TIMEOUT s: nothing is checked" ;;
        *) log "the check failed with status $status: $(echo "$answer" | tail -n 1)" ;;
    esac
    return 2
}
