import type { Sandbox } from '@hearth/contract'

export const WORKDIR = '/tmp/repository'

/** A small program with a bug that its tests show: the end of a range is left out. */
export const FILES: Readonly<Record<string, string>> = {
  '.gitignore': 'build/\n',
  'README.md': '# ranges\n\nReads ranges of pages such as `1-3,7`.\n',
  'ranges/__init__.py': 'from ranges.parse import parse\n\n__all__ = ["parse"]\n',
  'ranges/parse.py': [
    'def parse(text):',
    '    """Pages of a list of ranges, both ends included."""',
    '    pages = []',
    '    for piece in text.split(","):',
    '        first, _, last = piece.partition("-")',
    '        pages.extend(range(int(first), int(last or first)))',
    '    return pages',
    '',
  ].join('\n'),
  'tests/__init__.py': '',
  'tests/test_parse.py': [
    'import unittest',
    'from ranges import parse',
    '',
    '',
    'class ParseTest(unittest.TestCase):',
    '    def test_one_page(self):',
    '        self.assertEqual(parse("7"), [7])',
    '',
    '    def test_range(self):',
    '        self.assertEqual(parse("1-3,7"), [1, 2, 3, 7])',
    '',
    '',
    'if __name__ == "__main__":',
    '    unittest.main()',
    '',
  ].join('\n'),
}

export const VERIFY = 'python3 -m unittest discover -s tests -t .'

export async function makeRepository(sandbox: Sandbox): Promise<void> {
  for (const [path, content] of Object.entries(FILES)) await sandbox.files.write(`${WORKDIR}/${path}`, content)
}

export const BUG = 'int(last or first)))'
export const FIX = 'int(last or first) + 1))'
