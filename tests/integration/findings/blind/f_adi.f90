! SPDX-License-Identifier: Apache-2.0
! Heat conduction with alternating directions: implicit along columns, then implicit along rows.
! OpenMP, four threads; the first sweep divides the columns, the second one blocks of rows.
! label: u = pages change users
! Why: a page belongs to one thread in the sweep by columns, but two threads have rows in it in the other sweep.
! action: u = divide|spread
! harm: u = copy
! label: cprime = cache-resident
! Why: 8 KiB of elimination factors, read only, in the first cache of each core.
program adi
  use omp_lib
  implicit none
  integer, parameter :: dp = kind(1.0d0), n = 1024, block = 32, steps = 6
  real(dp), parameter :: pi = 3.14159265358979323846_dp, r = 0.4_dp
  real(dp), allocatable :: u(:, :)
  real(dp) :: cprime(n), factor, wanted, found
  integer :: i, j, step

  call omp_set_num_threads(4)
  allocate (u(n, n))
  !$omp parallel do schedule(static) private(i)
  do j = 1, n
    do i = 1, n
      u(i, j) = sin(pi*i/(n + 1))*sin(pi*j/(n + 1))
    end do
  end do

  cprime(1) = -r/(1 + 2*r)
  do i = 2, n
    cprime(i) = -r/(1 + 2*r + r*cprime(i - 1))
  end do

  do step = 1, steps
    call along_columns(u)
    call along_rows(u)
  end do

  ! The start is an eigenvector of both sweeps.
  factor = 1/(1 + 2*r*(1 - cos(pi/(n + 1))))
  wanted = factor**(2*steps)*sin(pi*512/(n + 1))*sin(pi*300/(n + 1))
  found = u(512, 300)
  print '(a,f18.14,a,f18.14)', 'found', found, ', wanted', wanted
  if (abs(found - wanted) > 1.0e-10_dp) stop 1

contains

  ! Solves (1 + 2 r) u(i) - r u(i - 1) - r u(i + 1) = old u(i) in each column, in place.
  subroutine along_columns(w)
    real(dp), intent(inout) :: w(n, n)
    integer :: row, column
    !$omp parallel do schedule(static) private(row)
    do column = 1, n
      w(1, column) = w(1, column)/(1 + 2*r)
      do row = 2, n
        w(row, column) = (w(row, column) + r*w(row - 1, column))*(-cprime(row)/r)
      end do
      do row = n - 1, 1, -1
        w(row, column) = w(row, column) - cprime(row)*w(row + 1, column)
      end do
    end do
  end subroutine along_columns

  ! The same along each row; a block of rows at a time, so that whole cache lines are used.
  subroutine along_rows(w)
    real(dp), intent(inout) :: w(n, n)
    integer :: first, row, column
    !$omp parallel do schedule(static) private(row, column)
    do first = 1, n, block
      do row = first, first + block - 1
        w(row, 1) = w(row, 1)/(1 + 2*r)
      end do
      do column = 2, n
        do row = first, first + block - 1
          w(row, column) = (w(row, column) + r*w(row, column - 1))*(-cprime(column)/r)
        end do
      end do
      do column = n - 1, 1, -1
        do row = first, first + block - 1
          w(row, column) = w(row, column) - cprime(column)*w(row, column + 1)
        end do
      end do
    end do
  end subroutine along_rows
end program adi
