! SPDX-License-Identifier: Apache-2.0
! The upper triangle of the Gram matrix of 480 long vectors, as in a least-squares fit. The columns
! of the result are divided evenly, but column j needs j scalar products, so the last thread has seven
! times the work of the first of four. Each thread reads the vectors from the first up to its own
! column: the vectors, read by the main thread, are used by all threads.
! The result is small (1.8 MB), and each element is written once.
! label: vectors = shared, read-mostly
! action: vectors = copy or spread
! harm: vectors = local
! label: run = load imbalance
! action: run = balance
program gram_upper
  use omp_lib
  implicit none
  integer, parameter :: length = 5000, count = 480
  real(8), allocatable :: vectors(:, :), gram(:, :)
  character(16) :: argument
  integer :: i, j, threads
  real(8) :: total

  threads = 4
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) threads
  end if
  call omp_set_num_threads(threads)
  allocate (vectors(length, count), gram(count, count))
  do j = 1, count
    do i = 1, length
      vectors(i, j) = real(modulo(i*37 + j*101, 1009), 8)*1.0d-3
    end do
  end do

  !$omp parallel do schedule(static) private(i)
  do j = 1, count
    do i = 1, j
      gram(i, j) = dot_product(vectors(:, i), vectors(:, j))
    end do
  end do
  !$omp end parallel do

  total = 0
  do j = 1, count
    total = total + sum(gram(1:j, j))
  end do
  print '(a, f18.4)', 'sum of the triangle: ', total
  deallocate (vectors, gram)
end program gram_upper
