import { readFileSync } from 'node:fs'
import { Marked } from 'marked'
import type { DocPage } from '../http/doc-page.ts'

const FOLDER = new URL('../../docs/', import.meta.url)

const marked = new Marked({
  renderer: {
    heading({ depth, text, tokens }) {
      const id = text.toLowerCase().replaceAll(/[^\w]+/g, '-')
      return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
  },
})

/** Renders a Markdown file of `docs`. Its first line is the title. */
export function guidePage(file: string): DocPage {
  const [first = '', ...rest] = readFileSync(new URL(file, FOLDER), 'utf8').split('\n')
  return { title: first.replace(/^# /, ''), body: marked.parse(rest.join('\n'), { async: false }) }
}
