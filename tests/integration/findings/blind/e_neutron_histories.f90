! SPDX-License-Identifier: Apache-2.0
! Histories of neutrons in a reactor. At each collision a neutron needs four cross sections of the
! material where it is, at its energy: lookups at random places of a table of 19 MB that all threads
! need and nobody changes. The table is read by main. Each thread counts collisions in its own
! tally, which it allocates, and which is added to the result once.
! label: cross_section = shared, read-mostly
! action: cross_section = copy or spread
! harm: cross_section = local
! label: tally = cache-resident
program neutron_histories
   use iso_fortran_env, only: int64, real64
   implicit none
   integer, parameter :: reactions = 4, energies = 20000, materials = 30
   integer, parameter :: histories = 120000, bins = 2048
   real(real64), allocatable :: cross_section(:, :, :)
   integer(int64) :: result(bins), check
   integer :: bin

   allocate (cross_section(reactions, energies, materials))
   call read_table()
   result = 0
   call follow_all()
   check = 0
   do bin = 1, bins
      check = check + result(bin)*bin
   end do
   print '(a, i0)', 'weighted collisions ', check

contains

   subroutine read_table()
      integer :: material, energy
      do material = 1, materials
         do energy = 1, energies
            cross_section(1, energy, material) = 1.0d0 + 0.001d0*mod(energy*material, 997)
            cross_section(2, energy, material) = 0.2d0 + 0.001d0*mod(energy + material, 89)
            cross_section(3, energy, material) = 0.05d0
            cross_section(4, energy, material) = 0.02d0 + 0.0001d0*mod(energy, 41)
         end do
      end do
   end subroutine read_table

   subroutine follow_all()
      integer(int64), allocatable :: tally(:)
      integer :: history
!$omp parallel private(tally)
      allocate (tally(bins))
      tally = 0
!$omp do schedule(static)
      do history = 1, histories
         call follow(history, tally)
      end do
!$omp end do
!$omp critical
      result = result + tally
!$omp end critical
      deallocate (tally)
!$omp end parallel
   end subroutine follow_all

   ! The next random number, from 0 to below 1.
   function draw(state) result(number)
      integer(int64), intent(inout) :: state
      real(real64) :: number
      state = ieor(state, ishft(state, 13))
      state = ieor(state, ishft(state, -7))
      state = ieor(state, ishft(state, 17))
      number = real(ishft(state, -11), real64)*2.0d0**(-53)
   end function draw

   subroutine follow(history, tally)
      integer, intent(in) :: history
      integer(int64), intent(inout) :: tally(bins)
      integer(int64) :: state
      integer :: energy, material, collision, bin
      real(real64) :: total, scattered, absorbed
      state = int(history, int64)*6364136223846793005_int64 + 1442695040888963407_int64
      do collision = 1, 25
         energy = 1 + int(draw(state)*energies)
         material = 1 + int(draw(state)*materials)
         total = sum(cross_section(:, energy, material))
         scattered = cross_section(1, energy, material)/total
         absorbed = cross_section(4, energy, material)/total
         bin = 1 + int(scattered*(bins - 1))
         tally(bin) = tally(bin) + 1
         if (draw(state) < 0.5d0*absorbed) exit
      end do
   end subroutine follow

end program neutron_histories
