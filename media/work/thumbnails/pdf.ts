import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import type { FileKind } from '../probe/file-kind.ts'
import type { PdfPage } from '../threads/pdf.ts'
import type { ImageSource } from './image.ts'

/** @throws MediaWorkError */
export async function pdfInfo(path: string, kind: FileKind, context: WorkContext): Promise<{ pages: number }> {
  return read(path, kind, 0, context)
}

/** Renders the first page with a longer edge of `edge` pixels. @throws MediaWorkError */
export async function openPdf(path: string, kind: FileKind, edge: number, context: WorkContext): Promise<ImageSource> {
  const { width, height, data } = await read(path, kind, edge, context)
  const raw = { width, height, channels: 4 } as const
  return { width, height, open: () => sharp(data, { raw }).removeAlpha() }
}

async function read(
  path: string,
  { bytes }: FileKind,
  edge: number,
  { threads, limits, signal }: WorkContext,
): Promise<PdfPage> {
  if (bytes > limits.imageBytes) throw new MediaWorkError('too_large', 'The document is too large.')
  return threads.pdf({ path, edge }, signal)
}
