! SPDX-License-Identifier: Apache-2.0
! Heat in a plate, five-point stencil, two arrays that are used in turn. Both arrays are initialised
! in a parallel loop with nearly the division of columns that all time steps have, so each thread has its
! columns on its own node; only two columns at a border are a neighbour's. Nothing is to be done.
! label: warm = partitioned
! action: warm = none
! label: cool = partitioned
! action: cool = none
! label: run = no NUMA problem
! action: run = none
program heat_plate
  use omp_lib
  implicit none
  integer, parameter :: rows = 2000, columns = 1500, steps = 12
  real(8), allocatable :: warm(:, :), cool(:, :)
  character(16) :: argument
  integer :: i, j, step, threads
  real(8) :: total

  threads = 4
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) threads
  end if
  call omp_set_num_threads(threads)
  allocate (warm(rows, columns), cool(rows, columns))

  !$omp parallel do schedule(static) private(i)
  do j = 1, columns
    do i = 1, rows
      warm(i, j) = real(modulo(i*j, 97), 8)
      cool(i, j) = warm(i, j)
    end do
  end do
  !$omp end parallel do

  do step = 1, steps
    call advance(warm, cool)
    call advance(cool, warm)
  end do

  total = 0
  !$omp parallel do schedule(static) private(i) reduction(+:total)
  do j = 1, columns
    do i = 1, rows
      total = total + warm(i, j)
    end do
  end do
  !$omp end parallel do
  print '(a, f18.4)', 'heat: ', total
  deallocate (warm, cool)

contains

  subroutine advance(from, to)
    real(8), intent(in) :: from(rows, columns)
    real(8), intent(inout) :: to(rows, columns)
    integer :: i, j
    !$omp parallel do schedule(static) private(i)
    do j = 2, columns - 1
      do i = 2, rows - 1
        to(i, j) = 0.6d0*from(i, j) + 0.1d0*(from(i - 1, j) + from(i + 1, j) + from(i, j - 1) + from(i, j + 1))
      end do
    end do
    !$omp end parallel do
  end subroutine advance
end program heat_plate
