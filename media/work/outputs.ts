import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Task } from './process/protocol.ts'

/** The temporary path of an output: a hidden file in the same folder, so that renaming it is atomic. */
export function partPath(output: string): string {
  return join(dirname(output), `.${basename(output)}.part`)
}

export function thumbnailPath(outputDir: string, name: string, format: 'webp' | 'jpeg' = 'webp'): string {
  return join(outputDir, `${name}.${format === 'jpeg' ? 'jpg' : 'webp'}`)
}

export const PREVIEW_PLAYLIST = 'index.m3u8'
/** The name of the file with all segments, as in the playlist. */
export const PREVIEW_MEDIA = 'media.ts'
const PREVIEW_FILES = [PREVIEW_PLAYLIST, PREVIEW_MEDIA].flatMap((name) => [name, `${name}.tmp`])

/** Deletes the outputs of a failed job. */
export async function removeOutputs(task: Task): Promise<void> {
  await Promise.all(outputsOf(task).map((path) => rm(path, { force: true })))
}

function outputsOf(task: Task): string[] {
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
