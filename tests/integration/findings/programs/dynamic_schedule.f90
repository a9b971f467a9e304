! SPDX-License-Identifier: Apache-2.0
! A dynamic schedule deals out the columns of u; v is divided in the same way in every step.
! label: u = pages change users
! label: v = partitioned
program labelled
  use iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function usleep(microseconds) bind(c)
      import c_int
      integer(c_int), value :: microseconds
    end function
  end interface
  integer, parameter :: rows = 1024, columns = 128
  real(8), allocatable :: u(:, :), v(:, :)
  integer :: column, step
  integer(c_int) :: unused
  allocate(u(rows, columns), v(rows, columns))
  do step = 1, 10
    !$omp parallel do schedule(dynamic) private(unused)
    do column = 1, columns
      ! A column that takes long, also on a machine with fewer CPUs than threads.
      unused = usleep(50_c_int)
      if (step == 1) u(:, column) = column
      u(:, column) = 0.5d0 * u(:, column) + 1.0d0
    end do
    !$omp end parallel do
    !$omp parallel do schedule(static)
    do column = 1, columns
      if (step == 1) v(:, column) = column
      v(:, column) = 0.25d0 * v(:, column) + 2.0d0
    end do
    !$omp end parallel do
  end do
  print *, u(1, 3), v(1, 3)
end program
