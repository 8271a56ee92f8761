import { readFile } from 'node:fs/promises'
import { PDFiumLibrary } from '@hyzyla/pdfium'
import { transfer } from './transfer.ts'

/** Runs in a thread. Error messages start with a code of MediaWorkError. */

export interface PdfInput {
  readonly path: string
  /** Length of the longer edge in pixels. 0 reads only the number of pages. */
  readonly edge: number
}

export interface PdfPage {
  readonly pages: number
  readonly width: number
  readonly height: number
  /** RGBA on a white background. */
  readonly data: Uint8Array<ArrayBuffer>
}

let library: Promise<PDFiumLibrary> | undefined

export async function firstPage({ path, edge }: PdfInput): Promise<PdfPage> {
  const bytes = await readFile(path)
  const pdfium = await (library ??= PDFiumLibrary.init())
  const document = await pdfium.loadDocument(bytes).catch((error: unknown) => {
    const { message } = error as Error
    if (/password|security/i.test(message))
      throw new Error('unsupported: The document is protected by a password.', { cause: error })
    throw new Error('damaged: The document cannot be read.', { cause: error })
  })
  try {
    const pages = document.getPageCount()
    if (pages === 0) throw new Error('damaged: The document has no pages.')
    if (edge === 0) return { pages, width: 0, height: 0, data: new Uint8Array() }
    const page = document.getPage(0)
    const { originalWidth, originalHeight } = page.getOriginalSize()
    const scale = edge / Math.max(originalWidth, originalHeight)
    const width = Math.max(1, Math.round(originalWidth * scale))
    const height = Math.max(1, Math.round(originalHeight * scale))
    const image = await page.render({ width, height, render: 'bitmap' })
    const data = new Uint8Array(image.data)
    return transfer({ pages, width: image.width, height: image.height, data })
  } finally {
    document.destroy()
  }
}
