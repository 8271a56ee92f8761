import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished, TestRunner } from 'vitest'
import type { MediaLog } from '../types.ts'
import { startMediaWork } from '../work/media-work.ts'
import type { MediaWork, MediaWorkOptions } from '../work/types.ts'
import { findFfmpeg } from './ffmpeg.ts'

export interface WorkFixture {
  readonly work: MediaWork
  /** For inputs and outputs of the tests. */
  readonly folder: string
  /** Log lines of the levels `warn` and `error`. */
  readonly logged: readonly string[]
  /** Folder of intermediate files. Empty when no work is running. */
  readonly tempDir: string
}

/** Starts media work for the tests of a file, or for the test that calls it. Afterwards it is closed and its folders are removed. */
export function useMediaWork(options: Partial<MediaWorkOptions> = {}): WorkFixture {
  const folder = mkdtempSync(join(tmpdir(), 'crier-work-'))
  const tempDir = mkdtempSync(join(tmpdir(), 'crier-work-temp-'))
  const logged: string[] = []
  const keep = (fields: object, message: string) => void logged.push(`${message} ${JSON.stringify(fields)}`)
  const log: MediaLog = { debug: () => {}, info: () => {}, warn: keep, error: keep }
  const ffmpegPath = findFfmpeg()
  const work = startMediaWork({ ffmpegPath, ffprobePath: 'ffprobe', tempDir, niceness: 0, log, ...options })
  const atEnd = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished
  atEnd(async () => {
    await work.close()
    for (const path of [folder, tempDir]) rmSync(path, { recursive: true, force: true })
  })
  return { work, folder, logged, tempDir }
}

/** Ids of processes that have the folder in their arguments, such as ffmpeg. */
export function processesOn(folder: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return []
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(folder) ? [Number(name)] : []
    } catch {
      // The process has ended.
      return []
    }
  })
}

/** Names of all files below a folder. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
}
