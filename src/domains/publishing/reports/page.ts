import { escapeHtml } from '../../../tools/html.ts'
import { htmlPage } from '../../../core/html-page.ts'
import { acceptedLanguage } from '../../../language/accepted.ts'
import { textsFor, type Texts } from '../../../language/texts.ts'

/** The page of a link that does not work. @param accepted the Accept-Language header */
export function invalidPage(accepted: string | undefined) {
  const texts = textsFor(acceptedLanguage(accepted, 'en'))
  return pageReply(404, texts, texts.say('reportMails.invalid'))
}

/** A page of a link in a mail: a sentence, and a button if there is something to decide. */
export function pageReply<S extends 200 | 404>(status: S, texts: Texts, sentence: string, button?: string) {
  const form = button === undefined ? '' : `<form method="post"><button>${escapeHtml(button)}</button></form>`
  const role = button !== undefined ? '' : status === 200 ? ' role="status"' : ' role="alert"'
  const body = `<p${role}>${escapeHtml(sentence)}</p>\n${form}`
  return htmlPage(status, { title: texts.say('reportMails.title'), body, language: texts.language })
}
