import type { PageFormat } from '../../src/domains/media/studio/page-formats.ts'
import type { TemplateValues } from '../../src/domains/media/studio/schemas.ts'
import type { Template } from '../../src/domains/media/studio/templates/template.ts'

/** The longest values that templates take, in six scripts. */

const SENTENCES = {
  German:
    'Die Verkehrsinfrastrukturfinanzierungsgesellschaft lädt zur Jahreshauptversammlung ins Bürgerbegegnungszentrum ein, mit Podiumsdiskussion und anschließendem Stehempfang.',
  Arabic:
    'تدعوكم جمعية الموسيقيين المستقلين إلى أمسية موسيقية في المدينة القديمة مع فرق من جميع أنحاء البلاد، والدخول مجاني للجميع.',
  Thai: 'ขอเชิญทุกท่านร่วมงานคอนเสิร์ตการกุศลเพื่อเด็กกำพร้าที่หอประชุมใหญ่ของมหาวิทยาลัย พร้อมการแสดงจากวงดนตรีอิสระทั่วประเทศ',
  Japanese:
    '今夜、旧市街のホールで独立系バンドによるチャリティーコンサートを開催します。入場は無料、どなたでもご参加いただけます。',
  Korean:
    '오늘 밤 구시가지 공연장에서 전국의 독립 밴드들이 함께하는 자선 음악회가 열립니다. 입장은 무료이며 누구나 오실 수 있습니다.',
  Cyrillic:
    'Культурно-просветительский центр приглашает жителей Екатеринбурга на благотворительный концерт независимых музыкальных коллективов в старом городе.',
} as const
export type Script = keyof typeof SENTENCES
export const SCRIPTS = Object.keys(SENTENCES) as Script[]

/** A text of so many characters, which ends with a whole one. */
export function longText(script: Script, length: number): string {
  const sentence = `${SENTENCES[script]} `
  const whole = sentence.repeat(Math.ceil(length / sentence.length)).slice(0, length)
  return whole.replace(/[\s\p{M}]+$/u, '')
}

/** Limits of `StudioTemplateValues`. */
const LONGEST = { title: 200, text: 1_000, author: 120, when: 120, place: 120 } as const
const LONGEST_BULLET = 400

/** Every text that a template uses, as long as it can be. Pictures, sounds and videos have the id `picture`. */
export function longestValues(
  { optional, required }: Template,
  script: Script,
  { hasPicture = false, pageFormat }: { readonly hasPicture?: boolean; readonly pageFormat?: PageFormat },
): TemplateValues {
  const texts = Object.entries(LONGEST).filter(([field]) => [...required, ...optional].includes(field as 'title'))
  return {
    ...Object.fromEntries(texts.map(([field, length]) => [field, longText(script, length)])),
    ...(required.includes('bulletTexts') && { bulletTexts: [longText(script, LONGEST_BULLET), 'Ok.'] }),
    ...((hasPicture || required.includes('pictureAssetIds')) && { pictureAssetIds: ['picture'] }),
    ...(required.includes('soundAssetId') && { soundAssetId: 'picture' }),
    ...(required.includes('videoAssetId') && { videoAssetId: 'picture' }),
    ...(pageFormat !== undefined && { pageFormat }),
  }
}
