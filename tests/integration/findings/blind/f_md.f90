! SPDX-License-Identifier: Apache-2.0
! Molecular dynamics with cell lists and neighbour lists that are rebuilt every fourth step.
! OpenMP, four threads; particles are numbered along the lattice, and all loops divide them statically.
! label: x = partitioned
! Why: set and moved in the static division; neighbours are near in number, so only borders are foreign.
! label: f = partitioned
! Why: each thread writes and reads the forces of its own particles only.
! label: v = partitioned
! Why: each thread sets and uses the velocities of its own particles only.
! label: nb = partitioned
! Why: each thread writes the neighbour lists of its own particles first, and reads the same ones.
! label: nnb = partitioned
! Why: as nb.
! label: link = cache-resident
! Why: main relinks it at each rebuild, but it has 256 KiB and a thread reads little more than a quarter of it.
! label: head = cache-resident
! Why: 60 KiB, of which a thread reads a quarter and its borders.
! label: run = no NUMA problem
! Why: what is large is local to its users but for borders, and the threads have equal work.
module particles
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  integer, parameter :: side = 40, n = side**3, cells = 25, maxnb = 28, steps = 8
  real(dp), parameter :: box = real(side, dp), range = 1.4_dp, list_range = 1.5_dp, dt = 0.01_dp
  real(dp), allocatable :: x(:, :), v(:, :), f(:, :)
  integer, allocatable :: nb(:, :), nnb(:), link(:), head(:, :, :)
contains
  subroutine set_up()
    integer :: i, c(3)
    allocate (x(3, n), v(3, n), f(3, n), nb(maxnb, n), nnb(n), link(n))
    allocate (head(0:cells - 1, 0:cells - 1, 0:cells - 1))
    !$omp parallel do schedule(static) private(c)
    do i = 1, n
      c = [mod(i - 1, side), mod((i - 1)/side, side), (i - 1)/side**2]
      x(:, i) = c + 0.5_dp + 0.1_dp*sin(real(i, dp)*[1.0_dp, 2.3_dp, 3.7_dp])
      v(:, i) = 0.2_dp*cos(real(i, dp)*[1.7_dp, 2.9_dp, 0.9_dp])
      f(:, i) = 0
      nnb(i) = 0
    end do
  end subroutine set_up

  pure function cell_of(position) result(c)
    real(dp), intent(in) :: position(3)
    integer :: c(3)
    c = min(cells - 1, int(position*(cells/box)))
  end function cell_of

  subroutine fill_cells()
    integer :: i, c(3)
    head = 0
    do i = 1, n
      c = cell_of(x(:, i))
      link(i) = head(c(1), c(2), c(3))
      head(c(1), c(2), c(3)) = i
    end do
  end subroutine fill_cells

  subroutine find_neighbours()
    integer :: i, j, c(3), dx, dy, dz, count
    real(dp) :: d1, d2, d3, p1, p2, p3
    !$omp parallel do schedule(static) private(j, c, dx, dy, dz, count, d1, d2, d3, p1, p2, p3)
    do i = 1, n
      p1 = x(1, i); p2 = x(2, i); p3 = x(3, i)
      c = cell_of(x(:, i))
      count = 0
      do dz = -1, 1
        do dy = -1, 1
          do dx = -1, 1
            j = head(modulo(c(1) + dx, cells), modulo(c(2) + dy, cells), modulo(c(3) + dz, cells))
            do while (j > 0)
              d1 = x(1, j) - p1; d2 = x(2, j) - p2; d3 = x(3, j) - p3
              d1 = d1 - box*int(d1*(2/box))
              d2 = d2 - box*int(d2*(2/box))
              d3 = d3 - box*int(d3*(2/box))
              if (j /= i .and. d1*d1 + d2*d2 + d3*d3 < list_range**2 .and. count < maxnb) then
                count = count + 1
                nb(count, i) = j
              end if
              j = link(j)
            end do
          end do
        end do
      end do
      nnb(i) = count
    end do
  end subroutine find_neighbours

  subroutine forces()
    integer :: i, k, j
    real(dp) :: d1, d2, d3, r2, s, p1, p2, p3, f1, f2, f3
    !$omp parallel do schedule(static) private(k, j, d1, d2, d3, r2, s, p1, p2, p3, f1, f2, f3)
    do i = 1, n
      p1 = x(1, i); p2 = x(2, i); p3 = x(3, i)
      f1 = 0; f2 = 0; f3 = 0
      do k = 1, nnb(i)
        j = nb(k, i)
        d1 = x(1, j) - p1; d2 = x(2, j) - p2; d3 = x(3, j) - p3
        d1 = d1 - box*int(d1*(2/box))
        d2 = d2 - box*int(d2*(2/box))
        d3 = d3 - box*int(d3*(2/box))
        r2 = d1*d1 + d2*d2 + d3*d3
        if (r2 < range**2) then
          s = range**2 - r2
          f1 = f1 - s*d1
          f2 = f2 - s*d2
          f3 = f3 - s*d3
        end if
      end do
      f(1, i) = f1; f(2, i) = f2; f(3, i) = f3
    end do
  end subroutine forces

  subroutine move_all()
    integer :: i
    !$omp parallel do schedule(static)
    do i = 1, n
      v(:, i) = v(:, i) + dt*f(:, i)
      x(:, i) = modulo(x(:, i) + dt*v(:, i), box)
    end do
  end subroutine move_all
end module particles

program md
  use omp_lib
  use particles
  implicit none
  integer :: step, i
  real(dp) :: before, drift
  call omp_set_num_threads(4)
  call set_up()
  before = sum(v(1, :))
  do step = 0, steps - 1
    if (mod(step, 4) == 0) then
      call fill_cells()
      call find_neighbours()
    end if
    call forces()
    call move_all()
  end do
  drift = 0
  do i = 1, n
    drift = drift + v(1, i)
  end do
  drift = drift - before
  print '(a,es10.2,a,f6.2)', 'drift of momentum', drift, ', mean neighbours', real(sum(nnb), dp)/n
  if (abs(drift) > 1.0e-8_dp .or. maxval(nnb) >= maxnb) stop 1
end program md
