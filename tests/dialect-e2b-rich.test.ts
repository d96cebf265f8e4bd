import { Sandbox as CodeSandbox, type Execution, type Result } from '@e2b/code-interpreter'
import { afterAll, beforeAll, describe, expect, test, type TestContext } from 'vitest'
import { E2bServer } from './support/e2b-server.ts'

/** What cells show beside text, by the vendor's package: tables, charts with their numbers, images. */
const RUNGS = (process.env['HEARTH_RUNGS']?.split(',') ?? ['process', 'gvisor']).filter((rung) => rung !== 'simulated')
const PNG = 'iVBORw0KGgo'

const server = await E2bServer.start()
afterAll(() => server[Symbol.asyncDispose]())

for (const rung of RUNGS) {
  if (await server.has(rung)) {
    describe(`the code interpreter on ${rung}`, { timeout: 60_000 }, () => {
      suite(rung)
    })
  } else {
    describe(rung, () => {
      test('is available', (context) => context.skip(`${rung} does not work here`))
    })
  }
}

function suite(rung: string): void {
  let sandbox: CodeSandbox
  beforeAll(async () => {
    const limits = { 'hearth.rung': rung }
    sandbox = await CodeSandbox.create('host', { metadata: limits, timeoutMs: 600_000, envs: { GIVEN: 'to all' } })
  })
  afterAll(async () => {
    await sandbox.kill()
  })

  /** Debian's packages are installed where the tests are set up; elsewhere there may be none. */
  const need = async (context: TestContext, command: string, what: string): Promise<void> => {
    const found = await sandbox.commands.run(`${command} > /dev/null 2>&1 && echo found || true`)
    if (found.stdout === '') context.skip(`this host has no ${what}`)
  }
  const needPython = (context: TestContext): Promise<void> =>
    need(context, 'python3 -c "import pandas, matplotlib"', 'python3-pandas and python3-matplotlib')
  const shown = async (code: string): Promise<Result> => {
    const { results, error } = await sandbox.runCode(code)
    expect(error).toBeUndefined()
    return results[0] as Result
  }

  test('tables of pandas', async (context) => {
    await needPython(context)
    const table = await shown(
      'import pandas as pd\npd.DataFrame({"n": [1, 2], "at": pd.to_datetime(["2026-01-02", None]), "x": [0.1 + 0.2, float("nan")]})',
    )
    expect(table).toMatchObject({
      isMainResult: true,
      text: expect.stringContaining('2026-01-02') as string,
      html: expect.stringMatching(/<table[^]*<th>at<\/th>/) as string,
      data: { n: [1, 2], at: ['2026-01-02T00:00:00', null], x: [0.1 + 0.2, null] },
    })
    expect(table.formats()).toEqual(expect.arrayContaining(['html', 'data']))
    // One that is shown on the way, and one whose columns are not names.
    const { results } = await sandbox.runCode(
      'display(pd.DataFrame([[1, 2]]))\npd.DataFrame([[1, 2]], columns=["a", "a"])',
    )
    expect(results.map(({ data, isMainResult, html }) => ({ data, isMainResult, html: html !== undefined }))).toEqual([
      { data: { 0: [1], 1: [2] }, isMainResult: false, html: true },
      { data: undefined, isMainResult: true, html: true },
    ])
  })

  test('bars, upright and lying, in groups', async (context) => {
    await needPython(context)
    const upright = await shown(`
import matplotlib.pyplot as plt
plt.bar(['A', 'B'], [1.5, 2], label='Sold')
plt.xlabel('Authors')
plt.ylabel('Books (thousands)')
plt.title('Books by author')
plt.show()`)
    expect(upright.png?.startsWith(PNG)).toBe(true)
    expect(upright.chart).toEqual({
      type: 'bar',
      title: 'Books by author',
      x_label: 'Authors',
      y_label: 'Books (thousands)',
      x_unit: null,
      y_unit: 'thousands',
      elements: [
        { label: 'A', group: 'Sold', value: 1.5 },
        { label: 'B', group: 'Sold', value: 2 },
      ],
    })
    const lying = await shown('plt.barh(["p", "q"], [3, 4])\nplt.xlabel("mass [kg]")\nplt.ylabel("who")\nplt.show()')
    expect(lying.chart).toMatchObject({
      x_label: 'who',
      y_label: 'mass [kg]',
      y_unit: 'kg',
      elements: [
        { label: 'p', group: 'Group 0', value: 3 },
        { label: 'q', value: 4 },
      ],
    })
    const groups = await shown(`
import numpy as np
x = np.arange(2)
plt.bar(x - 0.2, [1, 2], 0.4, label='m')
plt.bar(x + 0.2, [3, 4], 0.4, label='f')
plt.xticks(x, ['2020', '2021'])
plt.show()`)
    const bars = (groups.chart?.elements ?? []) as { label: string; group: string; value: number }[]
    expect(bars.map(({ label, group, value }) => `${group} ${label} ${value}`)).toEqual([
      'm 2020 1',
      'm 2021 2',
      'f 2020 3',
      'f 2021 4',
    ])
  })

  test('lines, over dates and names and with gaps, and points', async (context) => {
    await needPython(context)
    const dates = await shown(`
import datetime
import matplotlib.pyplot as plt
days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=day) for day in range(3)]
plt.plot(days, [1, float('nan'), 3], label='seen')
plt.axhline(2)
plt.yscale('log')
plt.grid(True)
plt.show()`)
    expect(dates.chart).toMatchObject({
      type: 'line',
      title: null,
      x_scale: 'datetime',
      y_scale: 'log',
      elements: [
        {
          label: 'seen',
          points: [
            ['2026-01-01', 1],
            ['2026-01-02', null],
            ['2026-01-03', 3],
          ],
        },
      ],
    })
    const names = await shown('plt.plot([1, 2], ["low", "high"])\nplt.show()')
    expect(names.chart).toMatchObject({ x_scale: 'linear', y_scale: 'categorical', y_tick_labels: ['low', 'high'] })
    const points = await shown('plt.scatter([1, 2], [3, 4], label="one")\nplt.scatter([5], [6])\nplt.show()')
    expect(points.chart).toMatchObject({
      type: 'scatter',
      elements: [
        {
          label: 'one',
          points: [
            [1, 3],
            [2, 4],
          ],
        },
        { points: [[5, 6]] },
      ],
    })
  })

  test.for(['patch_artist=True', 'vert=False, notch=True'])('boxes, with %s', async (how, context) => {
    await needPython(context)
    const boxes = await shown(`
import matplotlib.pyplot as plt
plt.boxplot([[85, 90, 78, 92, 88], [95, 89, 76, 91, 84, 87]], labels=['a', 'b'], ${how})
plt.show()`)
    expect(boxes.chart).toMatchObject({
      type: 'box_and_whisker',
      elements: [
        { label: 'a', min: 78, first_quartile: 85, median: 88, third_quartile: 90, max: 92, outliers: [] },
        { label: 'b', min: 84, first_quartile: 84.75, median: 88, third_quartile: 90.5, max: 95, outliers: [76] },
      ],
    })
  })

  test('pies, several charts in one figure, and what has no numbers', async (context) => {
    await needPython(context)
    const pie = await shown(`
import matplotlib.pyplot as plt
plt.pie([90, 10], labels=['No', 'Yes'], autopct='%1.1f%%')
plt.show()`)
    expect(pie.chart).toEqual({
      type: 'pie',
      title: null,
      elements: [
        { label: 'No', angle: 324, radius: 1 },
        { label: 'Yes', angle: 36, radius: 1 },
      ],
    })
    const both = await shown(`
figure, (left, right) = plt.subplots(1, 2)
figure.suptitle('Both')
left.plot([1, 2], [3, 4])
left.set_title('Left')
right.scatter([1], [2])
figure`)
    expect(both).toMatchObject({
      isMainResult: true,
      chart: { type: 'superchart', title: 'Both', elements: [{ type: 'line', title: 'Left' }, { type: 'scatter' }] },
    })
    const circle = await shown('_, axes = plt.subplots()\naxes.add_artist(plt.Circle((0, 0), 1))\nplt.show()')
    expect(circle.chart).toEqual({ type: 'unknown', title: null, elements: [] })
    const blank = await shown('plt.subplots()\nplt.show()')
    expect([blank.png?.startsWith(PNG), blank.chart]).toEqual([true, undefined])
    // Figures that nobody shows are shown at the end; each once.
    const { results } = await sandbox.runCode('plt.plot([1, 2])\nplt.figure()\nplt.plot([3])\n"last"')
    expect(results.map(({ text, png }) => (png === undefined ? text : 'figure'))).toEqual(['figure', 'figure', 'last'])
  })

  test('images, and what notebooks import to show things', async (context) => {
    await needPython(context)
    const image = await sandbox.runCode(
      'from PIL import Image\nimage = Image.new("RGB", (4, 4))\nimage.show()\nprint("done")\nimage',
    )
    expect(image.results.map(({ png, isMainResult }) => [png?.startsWith(PNG), isMainResult])).toEqual([
      [true, false],
      [true, true],
    ])
    expect(image.logs.stdout).toEqual(['done\n'])
    const { results } = await sandbox.runCode(`
from IPython.display import display, HTML, Markdown, Latex, JSON
display(HTML('<b>bold</b>'))
display(Markdown('*m*'), Latex('$x$'), JSON({'a': 1}))`)
    expect(results.map((result) => result.formats()[0])).toEqual(['html', 'markdown', 'latex', 'json'])
  })

  test('lists, cells that are indented, and commands between the lines', async () => {
    const list = await shown('{"a": [1, None]}')
    expect(list).toMatchObject({ text: "{'a': [1, None]}", json: { a: [1, null] }, isMainResult: true })
    const told: string[] = []
    const cell: Execution = await sandbox.runCode(
      `
    %matplotlib inline
    text = """
    !no command
    """
    for _ in range(2):
      !echo said $GIVEN
    len(text)
    `,
      { onStdout: ({ line }) => void told.push(line) },
    )
    expect([cell.text, told.join('')]).toEqual([`${'\n!no command\n'.length}`, 'said to all\nsaid to all\n'])
    expect((await sandbox.runCode('%%bash\necho $((40 + 2))')).logs.stdout).toEqual(['42\n'])
    expect((await sandbox.runCode('%unheard of')).error).toMatchObject({ name: 'NameError', value: /%unheard/ })
    expect((await sandbox.runCode('x ===')).error?.name).toBe('SyntaxError')
  })
}
