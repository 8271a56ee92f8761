import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { file } from '../../../../core/reply.ts'
import type { StudioTemplateData } from '../schemas.ts'
import { TEMPLATES, type TemplateKey } from './index.ts'
import type { Template, TemplateField } from './template.ts'

/** Values that all templates use. */
const COMMON: readonly TemplateField[] = ['pageFormat', 'backgroundColor', 'textColor', 'accentColor']
/** Previews change only with a new version of the server. */
const CACHE = 'public, max-age=3600'

const previews = new Map<TemplateKey, Buffer>()

/** The values that a template uses, the required ones first. */
export function fieldsOf({ optional, required }: Template): readonly TemplateField[] {
  return [...required, ...optional, ...COMMON]
}

/** All templates, as the API shows them. */
export function listTemplates(publicUrl: string): StudioTemplateData[] {
  return (Object.entries(TEMPLATES) as [TemplateKey, Template][]).map(([templateKey, template]) => {
    const { description, format, name, pageFormat, required } = template
    return {
      templateKey,
      name,
      description,
      format,
      pageFormat,
      fields: fieldsOf(template).map((field) => ({ field, required: required.includes(field) })),
      previewUrl: `${publicUrl}/api/studio/templates/${templateKey}/preview`,
    }
  })
}

/** The path of the preview of a template, which comes with the server. */
export function previewPath(key: TemplateKey): string {
  return `${import.meta.dirname}/previews/${key}.webp`
}

/** The preview of a template as a reply. */
export function previewOf(key: TemplateKey) {
  const content = previews.get(key) ?? readFileSync(previewPath(key))
  previews.set(key, content)
  return file({
    contentType: 'image/webp',
    size: content.length,
    etag: createHash('sha256').update(content).digest('hex'),
    name: `${key}.webp`,
    disposition: 'inline',
    cache: CACHE,
    open: async (range) => part(content, range?.start, range?.end),
  })
}

async function* part(content: Buffer, start = 0, end = content.length - 1): AsyncGenerator<Buffer> {
  yield content.subarray(start, end + 1)
}
