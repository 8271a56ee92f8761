import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Task } from './process/protocol.ts'

/** Where a file is written before it takes its place: beside it, hidden, so that taking its place is one step. */
export function partPath(output: string): string {
  return join(dirname(output), `.${basename(output)}.part`)
}

export function thumbnailPath(outputDir: string, name: string, format: 'webp' | 'jpeg' = 'webp'): string {
  return join(outputDir, `${name}.${format === 'jpeg' ? 'jpg' : 'webp'}`)
}

export const PREVIEW_PLAYLIST = 'index.m3u8'
/** What the playlist calls the file that its pieces are ranges of. */
export const PREVIEW_MEDIA = 'media.ts'
const PREVIEW_FILES = [PREVIEW_PLAYLIST, PREVIEW_MEDIA].flatMap((name) => [name, `${name}.tmp`])

/** Removes what a job that failed may have written. */
export async function removeUnfinished(task: Task): Promise<void> {
  await Promise.all(unfinished(task).map((path) => rm(path, { force: true })))
}

function unfinished(task: Task): string[] {
  switch (task.kind) {
    case 'probe':
      return []
    case 'thumbnails':
      return task.options.sizes.map(({ name }) => thumbnailPath(task.outputDir, name, task.options.format))
    case 'transcode':
      return [partPath(task.output)]
    default:
      return PREVIEW_FILES.map((name) => join(task.outputDir, name))
  }
}
