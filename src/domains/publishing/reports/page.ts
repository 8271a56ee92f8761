import { escapeHtml } from '../../../core/html.ts'
import { htmlPage } from '../../../core/html-page.ts'
import type { Texts } from '../../../language/texts.ts'

/** A page of a link in a mail: a sentence, and a button if there is something to decide. */
export function pageReply<S extends 200 | 404>(status: S, texts: Texts, sentence: string, button?: string) {
  const form = button === undefined ? '' : `<form method="post"><button>${escapeHtml(button)}</button></form>`
  const role = button !== undefined ? '' : status === 200 ? ' role="status"' : ' role="alert"'
  const body = `<p${role}>${escapeHtml(sentence)}</p>\n${form}`
  return htmlPage(status, { title: texts.say('reportMails.title'), body, language: texts.language })
}
