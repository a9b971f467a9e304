! SPDX-License-Identifier: Apache-2.0
! An acoustic wave through layered ground, in leapfrog steps. Columns are divided statically in all
! loops, from the one that sets the three fields on; of the columns of others a thread only reads the
! two next to its own. The shot is one cell.
! label: run = no NUMA problem
! label: pressure = partitioned
! action: pressure = none
! label: before = partitioned
! action: before = none
! label: speed = partitioned
! action: speed = none
program wave_halo
    implicit none
    integer, parameter :: depth = 1024, columns = 1024, steps = 16
    real(8), allocatable :: pressure(:, :), before(:, :), speed(:, :)
    integer :: i, j, step
    real(8) :: loudest

    allocate(pressure(depth, 0:columns + 1), before(depth, 0:columns + 1), speed(depth, columns))
    !$omp parallel do schedule(static) private(i)
    do j = 1, columns
        do i = 1, depth
            pressure(i, j) = 0
            before(i, j) = 0
            speed(i, j) = merge(0.12d0, 0.2d0, mod(i / 96, 2) == 0)
        end do
        ! The threads of the first and last column own the quiet columns next to them.
        if (j == 1) pressure(:, 0) = 0
        if (j == 1) before(:, 0) = 0
        if (j == columns) pressure(:, columns + 1) = 0
        if (j == columns) before(:, columns + 1) = 0
    end do
    !$omp end parallel do
    pressure(depth / 2, columns / 2) = 1000

    do step = 1, steps, 2
        call advance(pressure, before, speed)
        call advance(before, pressure, speed)
    end do

    loudest = 0
    !$omp parallel do schedule(static) private(i) reduction(max: loudest)
    do j = 1, columns
        do i = 1, depth
            loudest = max(loudest, abs(pressure(i, j)))
        end do
    end do
    !$omp end parallel do
    print '(a, f12.6)', 'loudest ', loudest
    deallocate(speed, before, pressure)

contains

    ! The next field replaces the old one.
    subroutine advance(now, old, c)
        real(8), intent(in) :: now(depth, 0:columns + 1), c(depth, columns)
        real(8), intent(inout) :: old(depth, 0:columns + 1)
        integer :: i, j
        !$omp parallel do schedule(static) private(i)
        do j = 1, columns
            do i = 2, depth - 1
                old(i, j) = 2 * now(i, j) - old(i, j) + c(i, j) * &
                    (now(i - 1, j) + now(i + 1, j) + now(i, j - 1) + now(i, j + 1) - 4 * now(i, j))
            end do
        end do
        !$omp end parallel do
    end subroutine advance

end program wave_halo
