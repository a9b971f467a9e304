! SPDX-License-Identifier: Apache-2.0
! Alternating directions on a block of 512 x 64 x 64 cells. A line in x is one page. The sweep in y
! needs whole lines in y, so it divides the planes in z among the threads; the sweep in z divides the
! lines in y. All pages have one user in each sweep, but it is not the same one in both sweeps for most
! of them. The block is set in parallel with the division of the first sweep. As the recurrences
! forbid one division for both sweeps, the block could be transposed between them, or spread.
! label: u = pages change users
! action: u = spread | divide
program adi_planes
    implicit none
    integer, parameter :: nx = 512, ny = 64, nz = 64, steps = 14
    real(8), allocatable :: u(:, :, :)
    integer :: i, j, k, step
    real(8) :: total

    allocate(u(nx, ny, nz))
    !$omp parallel do schedule(static) private(i, j)
    do k = 1, nz
        do j = 1, ny
            do i = 1, nx
                u(i, j, k) = mod(i * 7 + j * 13 + k * 29, 100) * 0.01d0
            end do
        end do
    end do
    !$omp end parallel do

    do step = 1, steps
        call sweep_y(u)
        call sweep_z(u)
    end do

    total = 0
    do k = 1, nz, 8
        do j = 1, ny, 8
            total = total + u(nx / 2, j, k)
        end do
    end do
    print '(a, f12.6)', 'sum of samples ', total
    deallocate(u)

contains

    subroutine sweep_y(a)
        real(8), intent(inout) :: a(nx, ny, nz)
        integer :: i, j, k
        !$omp parallel do schedule(static) private(i, j)
        do k = 1, nz
            do j = 2, ny
                do i = 1, nx
                    a(i, j, k) = 0.7d0 * a(i, j, k) + 0.3d0 * a(i, j - 1, k)
                end do
            end do
        end do
        !$omp end parallel do
    end subroutine sweep_y

    subroutine sweep_z(a)
        real(8), intent(inout) :: a(nx, ny, nz)
        integer :: i, j, k
        !$omp parallel do schedule(static) private(i, k)
        do j = 1, ny
            do k = 2, nz
                do i = 1, nx
                    a(i, j, k) = 0.7d0 * a(i, j, k) + 0.3d0 * a(i, j, k - 1)
                end do
            end do
        end do
        !$omp end parallel do
    end subroutine sweep_z

end program adi_planes
