! SPDX-License-Identifier: Apache-2.0
! LU factorisation without pivoting, of a diagonally dominant matrix. The program sets the whole matrix
! before the parallel region. Column j then always belongs to thread mod(j - 1, threads), so that all
! threads have work until the end. A column is 8 KiB, two pages: each small page has one user, but a
! page of 2 MiB would hold columns of all threads. Each thread first copies the column of the step to
! its own stack, which is the only reading of columns of others.
! label: matrix = serial first touch
! action: matrix = local
! label: matrix = false sharing of 2 MiB pages
program lu_cyclic
    use omp_lib
    implicit none
    integer, parameter :: n = 1024
    integer, parameter :: wide = selected_int_kind(15)
    real(8), allocatable :: matrix(:, :)
    integer :: i, j, k
    integer(wide) :: state
    real(8) :: trace

    allocate(matrix(n, n))
    state = 42
    do j = 1, n
        do i = 1, n
            state = mod(state * 16807_wide, 2147483647_wide)
            matrix(i, j) = real(state, 8) / 2147483647d0
        end do
        matrix(j, j) = matrix(j, j) + n
    end do

    !$omp parallel default(none) shared(matrix) private(k)
    do k = 1, n - 1
        call eliminate(matrix, k, omp_get_thread_num(), omp_get_num_threads())
        !$omp barrier
    end do
    !$omp end parallel

    trace = 0
    do i = 1, n
        trace = trace + matrix(i, i)
    end do
    print '(a, f14.4)', 'trace of U ', trace
    deallocate(matrix)

contains

    ! The columns of one thread after column k.
    subroutine eliminate(a, k, thread, threads)
        real(8), intent(inout) :: a(n, n)
        integer, intent(in) :: k, thread, threads
        real(8) :: pivot(n), factor
        integer :: i, j, first

        ! Rows below the diagonal keep U's column; the multipliers are formed here.
        do i = k + 1, n
            pivot(i) = a(i, k) / a(k, k)
        end do
        first = k + 1 + modulo(thread - k, threads)
        do j = first, n, threads
            factor = a(k, j)
            do i = k + 1, n
                a(i, j) = a(i, j) - pivot(i) * factor
            end do
        end do
    end subroutine eliminate

end program lu_cyclic
