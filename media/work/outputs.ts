import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Task } from './process/protocol.ts'
import type { RenderOrder } from './studio/scene.ts'

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
/** The files of a rendered scene: one for each page, or one video. */
export function renderedPaths(outputDir: string, order: RenderOrder): string[] {
  if (order.format === 'mp4') return [join(outputDir, 'rendered')]
  return order.pages.map((_page, place) => join(outputDir, `rendered-${place}`))
}

const PREVIEW_FILES = [PREVIEW_PLAYLIST, PREVIEW_MEDIA].flatMap((name) => [name, `${name}.tmp`])

const SPEECH_PIECE = /^piece-\d+\.flac$/

/** The path of a piece of sound. @param index from 0 */
export function speechPiecePath(outputDir: string, index: number): string {
  return join(outputDir, `piece-${index + 1}.flac`)
}

/** Deletes the outputs of a failed job. */
export async function removeOutputs(task: Task): Promise<void> {
  const outputs = task.kind === 'speech' ? await piecesIn(task.outputDir) : outputsOf(task)
  await Promise.all(outputs.map((path) => rm(path, { force: true })))
}

async function piecesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => SPEECH_PIECE.test(name)).map((name) => join(folder, name))
}

function outputsOf(task: Exclude<Task, { readonly kind: 'speech' }>): string[] {
  switch (task.kind) {
    case 'probe':
    case 'subtitles':
      return []
    case 'thumbnails':
      return task.options.sizes.map(({ name }) => thumbnailPath(task.outputDir, name, task.options.format))
    case 'transcode':
      return [partPath(task.output)]
    case 'render':
      return renderedPaths(task.outputDir, task.order).flatMap((path) => [path, partPath(path)])
    default:
      return PREVIEW_FILES.map((name) => join(task.outputDir, name))
  }
}
