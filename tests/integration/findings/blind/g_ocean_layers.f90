! SPDX-License-Identifier: Apache-2.0
! An ocean in layers: advection divides the layers among threads, mixing the rows of all layers.
! OpenMP.
! label: heat = pages change users
! Why: a page belongs to the thread of its layer in advection, and to that of its row in mixing.
! action: heat = divide|spread
! harm: heat = copy
! label: current = serial first touch
! Why: it is set by one thread and used in advection only, layer by layer.
! action: current = local
! harm: current = copy
! label: conduct = serial first touch
! Why: it is set by one thread and used in mixing only, row by row.
! action: conduct = local
! harm: conduct = copy
program ocean
    implicit none
    integer, parameter :: columns = 512, rows = 64, layers = 32, steps = 8
    real(8), allocatable :: heat(:, :, :), current(:, :, :), conduct(:, :, :)
    real(8) :: flux(columns), above
    integer :: i, j, k, step
    allocate(heat(columns, rows, layers), current(columns, rows, layers))
    allocate(conduct(columns, rows, layers))
    do k = 1, layers
        do j = 1, rows
            do i = 1, columns
                current(i, j, k) = 0.3d0 + 0.1d0 * sin(0.1d0 * j + 0.2d0 * k)
                conduct(i, j, k) = 0.2d0 + 0.001d0 * mod(i + j, 50)
            end do
        end do
    end do
    !$omp parallel do schedule(static) private(i, j)
    do k = 1, layers
        do j = 1, rows
            do i = 1, columns
                heat(i, j, k) = 4 + 16 * exp(-0.2d0 * k) + 0.01d0 * mod(i * 7 + j, 30)
            end do
        end do
    end do
    do step = 1, steps
        !$omp parallel do schedule(static) private(i, j, flux)
        do k = 1, layers
            do j = 1, rows
                flux(1) = 0
                do i = 2, columns
                    flux(i) = current(i, j, k) * (heat(i - 1, j, k) - heat(i, j, k))
                end do
                do i = 1, columns
                    heat(i, j, k) = heat(i, j, k) + flux(i)
                end do
            end do
        end do
        !$omp parallel do schedule(static) private(i, k, above)
        do j = 1, rows
            do k = 2, layers
                do i = 1, columns
                    above = heat(i, j, k - 1)
                    heat(i, j, k) = heat(i, j, k) + conduct(i, j, k) * (above - heat(i, j, k))
                end do
            end do
        end do
    end do
    print '(a, f12.6)', 'mean heat ', sum(heat) / size(heat)
    if (.not. sum(heat) > 0) stop 1
end program
