! SPDX-License-Identifier: Apache-2.0
! A tide in a basin: a derived type with two allocatable fields of 512 x 1024 (4 MiB each). The loop
! that fills them is parallel, but deals the columns out in chunks of four; the time steps give each
! thread one contiguous quarter. So most pages are first touched by another thread than their user.
! label: basin%height = remote first touch
! action: basin%height = local | divide
! label: basin%speed = remote first touch
! action: basin%speed = local | divide
module tides
    implicit none
    integer, parameter :: rows = 512, columns = 1024, steps = 50
    type basin_type
        real(8), allocatable :: height(:, :)
        real(8), allocatable :: speed(:, :)
    end type basin_type
contains
    subroutine fill(basin)
        type(basin_type), intent(inout) :: basin
        integer :: i, j
        allocate(basin%height(rows, columns), basin%speed(rows, columns))
        !$omp parallel do schedule(static, 4) private(i)
        do j = 1, columns
            do i = 1, rows
                basin%height(i, j) = mod(i * 5 + j * 3, 47)
                basin%speed(i, j) = 0.01d0 * mod(i + j, 19)
            end do
        end do
        !$omp end parallel do
    end subroutine fill

    subroutine advance(basin)
        type(basin_type), intent(inout) :: basin
        integer :: i, j
        real(8) :: slope
        !$omp parallel do schedule(static) private(i, slope)
        do j = 1, columns
            do i = rows, 2, -1
                slope = basin%height(i, j) - basin%height(i - 1, j)
                basin%speed(i, j) = 0.99d0 * basin%speed(i, j) - 0.001d0 * slope
                basin%height(i, j) = basin%height(i, j) - 0.1d0 * basin%speed(i, j)
            end do
        end do
        !$omp end parallel do
    end subroutine advance
end module tides

program tidal_basin
    use tides
    implicit none
    type(basin_type) :: basin
    integer :: step
    call fill(basin)
    do step = 1, steps
        call advance(basin)
    end do
    print '(a, f16.6)', 'height ', sum(basin%height(rows, :)) + sum(basin%speed(rows, :))
end program tidal_basin
