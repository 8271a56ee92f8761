import type { ProbeResult } from '../types.ts'
import { fileKind, type FileKind } from './file-kind.ts'

/** A file that is worked on. */
export interface SourceFile {
  readonly path: string
  readonly kind: FileKind
  /** What was found of it before. */
  readonly probed: ProbeResult | undefined
}

/**
 * @param probed what somebody says that a probe of this file found; left aside when it is of a file of another length
 * @throws MediaWorkError `missing`, `truncated` or `unsupported`
 */
export async function openSource(path: string, probed: ProbeResult | undefined): Promise<SourceFile> {
  const kind = await fileKind(path)
  return { path, kind, probed: probed?.bytes === kind.bytes ? probed : undefined }
}
