! SPDX-License-Identifier: Apache-2.0
! Relaxes a field of 3 MiB, a local array of fixed size in a subroutine: with -fopenmp gfortran puts
! it on the stack of the calling thread, main. Main fills it, then all threads work on their own
! columns of it, with a static division, many times.
! label: work = stack shared with other threads
! action: work = local
module relaxation
    implicit none
    integer, parameter :: rows = 512, columns = 768, sweeps = 60
contains
    subroutine relax(seed, total)
        integer, intent(in) :: seed
        real(8), intent(out) :: total
        real(8) :: work(rows, columns)
        integer :: i, j, sweep

        do j = 1, columns
            do i = 1, rows
                work(i, j) = mod(i * 7 + j * seed, 101)
            end do
        end do
        !$omp parallel private(sweep, i, j)
        do sweep = 1, sweeps
            !$omp do schedule(static)
            do j = 1, columns
                do i = 2, rows - 1
                    work(i, j) = 0.5d0 * work(i, j) + 0.25d0 * (work(i - 1, j) + work(i + 1, j))
                end do
            end do
            !$omp end do
        end do
        !$omp end parallel
        total = sum(work(rows / 2, :))
    end subroutine relax
end module relaxation

program stack_work
    use relaxation
    implicit none
    real(8) :: total
    call relax(13, total)
    print '(a, f14.6)', 'total ', total
end program stack_work
