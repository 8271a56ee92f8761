import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Log } from './log.ts'
import { hasApt } from './debian-packages.ts'
import { unpackPrograms } from './unpacked-programs.ts'

/** After this time, a start gets the packages again, with the security fixes that Debian has released since. */
const FRESH_MS = 7 * 86_400_000

const IN_PACKAGE = fileURLToPath(new URL('../../node_modules/.cache/crier', import.meta.url))

/** Where and how to get ffmpeg. */
export interface FfmpegPackagesOptions {
  /** The folder that keeps it. By default one in node_modules, or in the user's home if that is not writable. */
  readonly cacheDir?: string | undefined
  /** False: only what was unpacked before is used. */
  readonly mayDownload: boolean
  readonly log: Log
}

/**
 * Debian's ffmpeg, unpacked into a cache without root. The first call downloads it, which takes about a minute. Later
 * calls return at once, and renew it in the background after a week.
 * @returns its path, or why there is none as a sentence
 */
export async function ffmpegFromPackages(options: FfmpegPackagesOptions): Promise<{ path: string } | { why: string }> {
  const { cacheDir = writableCache(), log, mayDownload } = options
  const folder = join(cacheDir, 'ffmpeg')
  const path = join(folder, 'bin/ffmpeg')
  const unpackedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs
  if (unpackedAt !== undefined) {
    if (mayDownload && hasApt() && Date.now() - unpackedAt > FRESH_MS) {
      void unpack(folder).catch((error: unknown) => log.warn({ error }, 'ffmpeg could not be renewed'))
    }
    return { path }
  }
  if (!mayDownload) return { why: 'FFMPEG_DOWNLOAD is off.' }
  if (!hasApt()) return { why: 'This system has no Debian packages.' }
  log.info({ folder }, 'ffmpeg is missing: getting it from Debian’s packages, once. This takes about a minute')
  try {
    await unpack(folder)
    return { path }
  } catch (error) {
    log.warn({ error }, 'ffmpeg could not be had from Debian’s packages')
    return { why: `Debian’s packages could not be had (${(error as Error).message.split('\n').at(-1)}).` }
  }
}

/** The package itself is unpacked even if the machine has it, but not on PATH. */
async function unpack(folder: string): Promise<void> {
  const packages = { withDependencies: ['ffmpeg'], alone: ['ffmpeg'] }
  mkdirSync(join(folder, '..'), { recursive: true, mode: 0o700 })
  await unpackPrograms(folder, { packages, programs: { ffmpeg: 'usr/bin/ffmpeg', ffprobe: 'usr/bin/ffprobe' } })
}

function writableCache(): string {
  try {
    mkdirSync(IN_PACKAGE, { recursive: true })
    accessSync(IN_PACKAGE, constants.W_OK)
    return IN_PACKAGE
  } catch {
    return join(homedir(), '.cache/crier')
  }
}
