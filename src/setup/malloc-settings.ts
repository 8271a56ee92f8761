/**
 * Removes the settings of `start.sh` for glibc's malloc from the environment. They are for this process, which has read
 * them. Child processes such as ffmpeg have more threads that allocate.
 */
export function removeMallocSettings(): void {
  for (const name of ['MALLOC_ARENA_MAX', 'MALLOC_MMAP_THRESHOLD_', 'MALLOC_TRIM_THRESHOLD_']) delete process.env[name]
}
