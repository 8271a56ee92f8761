import type { ProbeResult } from '../types.ts'
import { fileKind, type FileKind } from './file-kind.ts'

/** The input file of a job. */
export interface SourceFile {
  readonly path: string
  readonly kind: FileKind
  /** The result of an earlier probe. */
  readonly probed: ProbeResult | undefined
}

/**
 * Opens the input file of a job.
 * @param probed the result of an earlier probe. It is ignored if the size of the file has changed
 * @throws MediaWorkError `missing`, `truncated` or `unsupported`
 */
export async function openSource(path: string, probed: ProbeResult | undefined): Promise<SourceFile> {
  const kind = await fileKind(path)
  return { path, kind, probed: probed?.bytes === kind.bytes ? probed : undefined }
}
