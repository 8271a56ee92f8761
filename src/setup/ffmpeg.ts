import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'

/** Where to look, from the configuration. */
export interface FfmpegSources {
  FFMPEG_PATH?: string | undefined
  PATH?: string | undefined
  /** Gets one that the system does not have. */
  fromPackages?: () => Promise<{ path: string } | { why: string }>
}

/** An ffmpeg that runs. */
export interface Ffmpeg {
  path: string
  /** The ffprobe beside it or on PATH. */
  ffprobePath?: string
  /** Its own version string: `5.1.9-0+deb12u1`, or `N-92722-gf22fcd4483` for a build between releases. */
  version: string
  source: 'FFMPEG_PATH' | 'PATH' | 'packages'
  /** Sentences for the operator. */
  warnings: string[]
}

/** The result of the search. Without an ffmpeg, `why` is a sentence with instructions. */
export type FfmpegSearch =
  | { ffmpeg: Ffmpeg }
  | {
      ffmpeg: undefined
      why: string
      /**
       * The ffmpeg that npm installed, a build of 2018 without the security fixes since. It must read nothing but what
       * Crier itself has made.
       */
      forOwnPictures?: string
    }

/** What an operator does. */
export const INSTALL_FFMPEG =
  'Install it (Debian: apt-get install ffmpeg, macOS: brew install ffmpeg) or set FFMPEG_PATH, and start Crier again.'

const OLDEST_MAJOR = 5
/** ffmpeg 5.0 was released in January 2022. A build between releases only shows the year of its sources. */
const OLDEST_YEAR = 2022

/** Looks for an ffmpeg that runs, in this order: FFMPEG_PATH, PATH, and Debian's packages. */
export async function findFfmpeg({ FFMPEG_PATH, PATH = '', fromPackages }: FfmpegSources): Promise<FfmpegSearch> {
  const folders = PATH.split(delimiter).filter(isAbsolute)
  const problems: string[] = []
  const unpacked = async () => {
    const got = await fromPackages?.()
    if (got !== undefined && 'path' in got) return got.path
    if (got !== undefined) problems.push(got.why)
    return undefined
  }
  const candidates: { find: () => string | undefined | Promise<string | undefined>; source: Ffmpeg['source'] }[] = [
    { find: () => FFMPEG_PATH, source: 'FFMPEG_PATH' },
    { find: () => firstFile(folders, 'ffmpeg'), source: 'PATH' },
    { find: unpacked, source: 'packages' },
  ]
  for (const { find, source } of candidates) {
    const path = await find()
    if (path === undefined || path === '') continue
    const answer = await askVersion(path)
    if (typeof answer === 'string') {
      problems.push(`${source === 'FFMPEG_PATH' ? `FFMPEG_PATH names ${path}, which` : path} does not run: ${answer}.`)
      continue
    }
    const ffprobePath = firstFile([dirname(path), ...folders], 'ffprobe')
    return {
      ffmpeg: {
        path,
        ...(ffprobePath !== undefined && { ffprobePath }),
        version: answer.version,
        source,
        warnings: [...problems, ...warnAboutAge(path, answer)],
      },
    }
  }
  const found = problems.length > 0 ? `${problems.join(' ')} ` : ''
  const bundled = bundledFfmpeg()
  return {
    ffmpeg: undefined,
    why: `${found}No ffmpeg was found on PATH. ${INSTALL_FFMPEG}`,
    ...(bundled !== undefined && { forOwnPictures: bundled }),
  }
}

interface Version {
  version: string
  /** The major version of a release; undefined for other builds. */
  major: number | undefined
  /** The last year in its copyright line. */
  year: number | undefined
}

/** @returns the problem in words, when it does not respond as an ffmpeg within 10 s */
async function askVersion(path: string): Promise<Version | string> {
  try {
    const { stdout } = await promisify(execFile)(path, ['-hide_banner', '-version'], { timeout: 10_000 })
    const [, version, year] = /^ffmpeg version (\S+)(?:.*?\d{4}-(\d{4}))?/.exec(stdout) ?? []
    if (version === undefined) return `its version output is "${stdout.split('\n')[0]}"`
    const major = /^n?(\d+)\./.exec(version)?.[1]
    return {
      version,
      major: major === undefined ? undefined : Number(major),
      year: year === undefined ? undefined : Number(year),
    }
  } catch (error) {
    return (error as Error).message.split('\n')[0] ?? 'no reason given'
  }
}

function warnAboutAge(path: string, { version, major, year }: Version): string[] {
  const old = major === undefined ? year !== undefined && year < OLDEST_YEAR : major < OLDEST_MAJOR
  if (!old) return []
  const age = year === undefined ? '' : ` of ${year}`
  return [
    `ffmpeg ${version}${age} (${path}) is older than version ${OLDEST_MAJOR} and lacks years of security fixes. ` +
      'Install a newer one (Debian: apt-get install ffmpeg) or set FFMPEG_PATH.',
  ]
}

function firstFile(folders: string[], program: string): string | undefined {
  const name = process.platform === 'win32' ? `${program}.exe` : program
  return folders.map((folder) => join(folder, name)).find(isFile)
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    // PATH may contain folders that do not exist or are not readable.
    return false
  }
}

function bundledFfmpeg(): string | undefined {
  const resolve = createRequire(import.meta.url).resolve
  try {
    const manifest = resolve(`@ffmpeg-installer/${process.platform}-${process.arch}/package.json`)
    return firstFile([dirname(manifest)], 'ffmpeg')
  } catch {
    // Optional: npm installs it on some systems only.
    return undefined
  }
}
