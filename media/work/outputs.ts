import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Task } from './process/protocol.ts'

/** Where a file is written before it takes its place: beside it, hidden, so that taking its place is one step. */
export function partPath(output: string): string {
  return join(dirname(output), `.${basename(output)}.part`)
}

export function thumbnailPath(outputDir: string, name: string, format: 'webp' | 'jpeg' = 'webp'): string {
  return join(outputDir, `${name}.${format === 'jpeg' ? 'jpg' : 'webp'}`)
}

export const PLAYLIST = 'index.m3u8'
export const SEGMENTS = 'segment-%05d.ts'
const PREVIEW_FILE = /^(?:index\.m3u8(?:\.tmp)?|segment-\d{5}\.ts(?:\.tmp)?)$/

/** The files of a preview that are there. */
export async function previewFiles(outputDir: string): Promise<string[]> {
  const names = await readdir(outputDir)
  return names.filter((name) => PREVIEW_FILE.test(name)).sort((a, b) => a.localeCompare(b))
}

/** Removes what a job that failed may have written. */
export async function removeUnfinished(task: Task): Promise<void> {
  await Promise.all((await unfinished(task)).map((path) => rm(path, { force: true })))
}

async function unfinished(task: Task): Promise<string[]> {
  switch (task.kind) {
    case 'probe':
      return []
    case 'thumbnails':
      return task.options.sizes.map(({ name }) => thumbnailPath(task.outputDir, name, task.options.format))
    case 'transcode':
      return [partPath(task.output)]
    default:
      // A folder that is not there is why it failed.
      return (await previewFiles(task.outputDir).catch(() => [])).map((name) => join(task.outputDir, name))
  }
}
