! SPDX-License-Identifier: Apache-2.0
! Running sums and decay along the second dimension of a table of 512 x 2048 (8 MiB). The outer loop
! carries the sum from column to column, so the inner loop is parallel: each thread has a contiguous
! quarter of each column, always the same, but a column is just one page. Main reads the last column
! at the end.
! label: table = page-level false sharing
! action: table = pad | divide
! harm: table = parallelise the existing loop
program prefix_columns
    implicit none
    integer, parameter :: rows = 512, columns = 2048, passes = 40
    real(8), allocatable :: table(:, :)
    integer :: i, j, pass

    allocate(table(rows, columns))
    !$omp parallel private(i, j, pass)
    do j = 1, columns
        !$omp do schedule(static)
        do i = 1, rows
            table(i, j) = mod(i * 13 + j * 29, 61)
        end do
        !$omp end do nowait
    end do
    do pass = 1, passes
        do j = 2, columns
            ! No barrier: a thread needs only its own rows of the column before.
            !$omp do schedule(static)
            do i = 1, rows
                table(i, j) = 0.5d0 * table(i, j) + 0.4d0 * table(i, j - 1)
            end do
            !$omp end do nowait
        end do
    end do
    !$omp end parallel
    print '(a, f16.6)', 'last column ', sum(table(:, columns))
    deallocate(table)
end program prefix_columns
