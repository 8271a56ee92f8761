import sharp from 'sharp'
import { MediaWorkError } from '../errors.ts'
import type { WorkContext } from '../process/context.ts'
import type { FileKind } from '../probe/file-kind.ts'
import type { PdfPage } from '../threads/pdf.ts'
import type { Picture } from './picture.ts'

/** @throws MediaWorkError */
export async function pdfInfo(path: string, kind: FileKind, context: WorkContext): Promise<{ pages: number }> {
  return read(path, kind, 0, context)
}

/** The first page, its longer edge as long as asked for. @throws MediaWorkError */
export async function openPdf(path: string, kind: FileKind, edge: number, context: WorkContext): Promise<Picture> {
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
  if (bytes > limits.imageBytes) throw new MediaWorkError('too_large', 'The document has too many bytes.')
  return threads.pdf({ path, edge }, signal)
}
