! SPDX-License-Identifier: Apache-2.0
! An elimination by columns: the divided loop begins at an argument that a loop of the caller counts.
! label: a = pages change users
! action: a = divide
! harm: a = copy
program shrinking
  implicit none
  integer, parameter :: n = 600
  real(8), allocatable :: a(:,:)
  integer :: i, j, k, last
  allocate (a(n, n))
  !$omp parallel do schedule(static) private(i) num_threads(4)
  do j = 1, n
    do i = 1, n
      a(i, j) = 1.0d0 / (i + j)
    end do
    a(j, j) = n
  end do
  !$omp end parallel do
  do k = 1, n - 1
    last = k
    call update(last)
  end do
  if (a(n, n) > 1d9) stop 1
contains
  subroutine update(last)
    integer, intent(in) :: last
    a(last+1:n, last) = a(last+1:n, last) / a(last, last)
    !$omp parallel do schedule(static) private(i) num_threads(4)
    do j = last + 1, n
      do i = last + 1, n
        a(i, j) = a(i, j) - a(i, last) * a(last, j)
      end do
    end do
    !$omp end parallel do
  end subroutine update
end program shrinking
