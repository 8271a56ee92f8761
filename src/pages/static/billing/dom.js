/**
 * Makes an element. Text always goes in as text, never as markup.
 * @param {string} tag with classes, such as `p.quiet`
 * @param {Record<string, any>} properties `on…` are listeners, `aria-…`, `role` and `for` attributes
 */
export function h(tag, properties = {}, ...children) {
  const [name, ...classes] = tag.split('.')
  const element = document.createElement(name)
  if (classes.length > 0) element.className = classes.join(' ')
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
    else if (/^(aria-|role$|for$|list$|min$|max$|lang$)/.test(key)) element.setAttribute(key, value)
    else element[key] = value
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false))
  return element
}

/** Shows a message as the page's status, or as its error. */
export function say(message, isBad = false) {
  document.querySelector('body > [role=status]').textContent = isBad ? '' : message
  document.querySelector('body > [role=alert]').textContent = isBad ? message : ''
}

export function field(label, properties) {
  return h('label', {}, label, h('input', properties))
}

export function choice(label, properties) {
  return h('label.choice', {}, h('input', properties), h('span', {}, label))
}

/** A button that does nothing while its work runs. It is not disabled then, because it would lose the focus. */
export function button(label, work, { kind } = {}) {
  const element = h(kind === undefined ? 'button' : `button.${kind}`, { type: 'button' }, label)
  const run = async () => {
    if (element.ariaDisabled === 'true') return
    element.ariaDisabled = 'true'
    try {
      await work(element)
    } finally {
      element.ariaDisabled = null
    }
  }
  element.addEventListener('click', () => void run())
  return element
}

/**
 * Opens a dialog: focus stays in it, Escape closes it, and then focus goes back to where it was.
 * @param {(body: HTMLElement, close: () => void) => void | Promise<void>} fill
 * @returns {Promise<void>} when it is closed
 */
export function openDialog(title, fill) {
  return new Promise((resolve) => {
    const heading = h('h2', { id: 'dialog-title', tabIndex: -1 }, title)
    const body = h('div')
    const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, heading, body)
    const before = document.activeElement
    dialog.addEventListener('close', () => {
      dialog.remove()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
      resolve()
    })
    document.body.append(dialog)
    dialog.showModal()
    heading.focus()
    void fill(body, () => dialog.close())
  })
}

/** Replaces what a dialog shows. If that had the focus, the title of the dialog gets it. */
export function showIn(body, ...children) {
  body.replaceChildren(...children)
  const dialog = body.closest('dialog')
  if (dialog !== null && !dialog.contains(document.activeElement)) dialog.querySelector('h2').focus()
}

/** Runs the work of a form. Sending it again does nothing until it ends. */
export function onSubmit(form, work) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (form.ariaBusy === 'true') return
    form.ariaBusy = 'true'
    try {
      await work(event)
    } finally {
      form.ariaBusy = null
    }
  })
  return form
}
